// What is fuzzed: each function takes any bytes and must come back, having thrown nothing but what
// it catches itself. driver.cpp makes a program of one of them, replay.cpp runs them on files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace remblai::fuzz {

/// Every array of a file with these bytes, as points and as labels.
void npy(std::string_view bytes);
void npz(std::string_view bytes);  ///< checksums are set right first
void csv(std::string_view bytes);
void idx(std::string_view bytes);
void mat5(std::string_view bytes);
void mat73(std::string_view bytes);  ///< in child processes

void model(std::string_view bytes);    ///< a model file; what loads is saved and loaded again
void options(std::string_view bytes);  ///< words of a command line, with zeros between them
void journal(std::string_view bytes);  ///< of `remblai reproduce`

/// A zip archive whose checksums are those of its members. A mutation of a byte would hardly ever
/// come past them.
std::string with_checksums(std::string_view archive);

/// Calls `use` with the path of a file that holds the bytes. Errors that it throws are caught.
/// The file is there until the program ends, and `use` may not put another in its place.
void with_file(std::string_view bytes, const char* suffix,
               const std::function<void(const std::string& path)>& use);

}  // namespace remblai::fuzz
