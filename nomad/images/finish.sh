#!/bin/sh
# Completes a root file system: finish.sh ROOT. mmdebstrap runs it before it writes the layer.
#   IMAGE_WORK: a folder with wheels/, which gets debian.tsv, the list of Debian's packages
#   IMAGE_REMOVE: paths below the folder of Python packages that are removed
set -eu
root=$1
packages=$root/usr/local/lib/python3.11/dist-packages

dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package}\t${Version}\t${Architecture}\t${source:Package}\n' >"$IMAGE_WORK/debian.tsv"

# Users and hooks install packages with pip; nothing else manages this Python.
rm -f "$root"/usr/lib/python3*/EXTERNALLY-MANAGED

cp -al "$IMAGE_WORK/wheels" "$root/wheels" 2>/dev/null || { rm -rf "$root/wheels"; cp -r "$IMAGE_WORK/wheels" "$root/wheels"; }
pip=$(cd "$root" && ls usr/share/python-wheels/pip-*.whl)
chroot "$root" env PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 python3 "/$pip/pip" install --quiet --no-index --find-links /wheels \
    --require-hashes --no-deps --no-compile --root-user-action=ignore --requirement /wheels/requirements.txt
rm -rf "$root/wheels" "$root/root/.cache"
for path in $IMAGE_REMOVE; do rm -rf "${packages:?}/$path"; done

# Programs find compiled modules, whatever the times of files are and whoever runs them. A few files are for other
# versions of Python: they do not compile, and nothing imports them.
chroot "$root" env PYTHONHASHSEED=0 python3 -m compileall -q -j 1 --invalidation-mode unchecked-hash /usr/local/lib/python3.11 /usr/lib/python3.11 >/dev/null || true
mkdir -p "$root/run/determined"
chmod 1777 "$root/run/determined"
