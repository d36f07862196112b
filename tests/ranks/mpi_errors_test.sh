#!/bin/sh
# An error of MPI ends the program: what it printed before is all, and the exit code is neither that
# of success nor of `timeout` (124) or a signal (more). No mpirun: what becomes of its other ranks
# is its own affair.
#
#     mpi_errors_test.sh PROGRAM
printed=$(timeout 60 "$1")
code=$?
echo "printed '$printed', exit code $code"
[ "$printed" = "so far" ] && [ $code -ne 0 ] && [ $code -lt 124 ]
