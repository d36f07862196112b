# cmake -DBUILD= -DWORK= -DVERSION= -DGENERATOR= -DCOMPILER= -P run.cmake
# Installs BUILD under WORK, builds the consumer project against it, and runs what was installed.
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE
                                                         COMMAND_ERROR_IS_FATAL ANY)
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
run(${WORK}/build/quick_start)

run(${prefix}/bin/remblai --version)
if(NOT output MATCHES "${VERSION}")
  message(FATAL_ERROR "the installed program reports \"${output}\", not version ${VERSION}")
endif()
file(READ ${prefix}/share/bash-completion/completions/remblai completion)
if(NOT completion MATCHES "complete .*remblai")
  message(FATAL_ERROR "the installed completion does not complete remblai")
endif()
