# cmake -DSOURCE= -DWORK= -DGENERATOR= -DCOMPILER= -P static.cmake
# Installs a static library from a tree of its own under WORK, then builds and runs the consumer against
# it. ccache has the objects of the shared library: nothing is compiled twice.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${prefix} ${WORK}/build)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/library -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER=${COMPILER} -DBUILD_SHARED_LIBS=OFF
    -DREMBLAI_BUILD_CLI=OFF -DREMBLAI_BUILD_TESTS=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/library)
run(${CMAKE_COMMAND} --install ${WORK}/library --prefix ${prefix})
file(GLOB_RECURSE shared ${prefix}/*.so*)
if(shared)
  message(FATAL_ERROR "the static build installed ${shared}")
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${WORK}/build --target consumer)
run(${WORK}/build/consumer)
