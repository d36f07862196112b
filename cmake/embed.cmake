# cmake -DOUTPUT=sample_files.cpp -DNAME=sample_files -DFOLDER=io "-DFILES=a|b|c" -P embed.cmake
# Writes the C++ file that src/FOLDER/NAME.h declares: the bytes of the files, in the order given.
# They become string literals, which a compiler reads many times faster than lists of numbers.
string(REPLACE "|" ";" FILES "${FILES}")
list(LENGTH FILES count)
set(literals "")
foreach(file IN LISTS FILES)
  file(READ ${file} bytes HEX)
  file(SIZE ${file} size)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  string(APPEND literals "      std::string_view(\"${bytes}\", ${size}),\n")
endforeach()
file(
  WRITE ${OUTPUT}
  "// Made by cmake/embed.cmake.\n"
  "#include \"${FOLDER}/${NAME}.h\"\n\n"
  "namespace remblai {\n\n"
  "const std::array<std::string_view, ${count}>& ${NAME}() {\n"
  "  static const std::array<std::string_view, ${count}> files = {\n${literals}  };\n"
  "  return files;\n}\n\n"
  "}  // namespace remblai\n")
