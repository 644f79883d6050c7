#!/bin/sh
# Everything that makes the models in the package, in order: the reader takes most of a day on two idle cores.
#
#     sh training/run.sh WORK [PYTHON]
#
# WORK is a folder for data and checkpoints (about 3 GB); PYTHON the interpreter of an environment with
# training/requirements.txt. Reads ../shared/train and public weights, writes src/quoth/models/shipped. Give
# the command again after an interruption: training goes on where it was.
set -eu
work=$1
python=${2:-python}
here=$(dirname "$0")
export PYTHONPATH="$here/../tools"  # for the changes of questions

"$python" "$here/base.py" --work "$work"
if [ ! -f "$work/run/state.pt" ]; then  # the order of the data must not change under a run
    "$python" "$here/prepare.py" --work "$work"
    "$python" "$here/statements.py" --work "$work"
    "$python" "$here/swapped.py" --work "$work"
    "$python" "$here/clauses.py" --work "$work"
    "$python" "$here/written.py" --work "$work"
    "$python" "$here/judged.py" --work "$work"
    "$python" "$here/mined.py" --work "$work"
fi
"$python" "$here/projection.py" --work "$work"
"$python" "$here/train.py" --work "$work" --steps 20000 --cool-down 2000
"$python" "$here/export.py" --work "$work" --target "$here/../src/quoth/models/shipped"
"$python" "$here/fit.py" --work "$work"
