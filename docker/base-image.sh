#!/bin/sh
# Makes the base image from Debian's archive, for sites and CI machines that reach no registry:
# `FROM debian:bookworm-slim` finds it under that name. Debian 12's own tools do it, mmdebstrap and
# docker; what people read and no program needs (pages, locales, change logs) stays out, as in the
# image of the registry.
set -eu

usage() {
    cat <<END
usage: docker/base-image.sh [--tar FILE] [NAME]

Makes NAME (debian:bookworm-slim) from Debian's archive, as root, in a quarter of a minute, and
imports it into the engine that docker talks to. --tar FILE only writes what \`docker import\` takes.

Environment: MIRROR (http://deb.debian.org/debian), SECURITY_MIRROR, SUITE (bookworm),
DOCKER (docker).
END
}

say() {
    printf '%s\n' "$*" >&2
}

name=debian:bookworm-slim tar=
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage && exit 0 ;;
        --tar) [ $# -gt 1 ] || { usage >&2 && exit 2; }; tar=$2 && shift ;;
        -*) say "base-image.sh has no option $1" && usage >&2 && exit 2 ;;
        *) name=$1 ;;
    esac
    shift
done
suite=${SUITE:-bookworm}
mirror=${MIRROR:-http://deb.debian.org/debian}
security=${SECURITY_MIRROR:-http://deb.debian.org/debian-security}
docker=${DOCKER:-docker}

[ "$(id -u)" -eq 0 ] || { say "Run it as root: it makes files of root's." && exit 1; }
command -v mmdebstrap >/dev/null || { say "mmdebstrap is missing: apt-get install mmdebstrap" && exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

cat >"$work/slim" <<'END'
force-unsafe-io
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/man/*
path-exclude /usr/share/info/*
path-exclude /usr/share/lintian/*
path-exclude /usr/share/locale/*
path-include /usr/share/locale/locale.alias
END
cat >"$work/apt" <<'END'
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::GzipIndexes "true";
APT::AutoRemove::SuggestsImportant "false";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };
END

say "base-image.sh: making $suite from $mirror"
# (What is unpacked first does not ask dpkg what to leave out.)
mmdebstrap --quiet --mode=root --variant=minbase --format=tar \
    --dpkgopt="$work/slim" --aptopt="$work/apt" \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include=usr-is-merged \
    --customize-hook='rm -rf "$1"/var/cache/apt/* "$1"/var/log/* "$1"/var/lib/apt/lists/*' \
    --customize-hook='rm -f "$1"/etc/hostname "$1"/etc/resolv.conf' \
    --customize-hook='cd "$1"/usr/share && rm -rf man/* info/* lintian/* &&
        find locale -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} + &&
        find doc ! -type d ! -name copyright -delete && find doc -type d -empty -delete' \
    "$suite" "$work/base.tar" \
    "deb $mirror $suite main" "deb $mirror $suite-updates main" \
    "deb $security $suite-security main" \
    >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }

# A package's service does not start while an image is built. (mmdebstrap removes one of its own.)
mkdir -p "$work/add/usr/sbin"
printf '#!/bin/sh\nexit 101\n' >"$work/add/usr/sbin/policy-rc.d"
chmod 755 "$work/add/usr/sbin/policy-rc.d"
tar --append --file="$work/base.tar" --owner=0 --group=0 -C "$work/add" ./usr/sbin/policy-rc.d

if [ -n "$tar" ]; then
    mv "$work/base.tar" "$tar"
    say "base-image.sh: $tar, $(du -h "$tar" | cut -f1)"
else
    "$docker" import --change 'CMD ["bash"]' "$work/base.tar" "$name" >/dev/null
    say "base-image.sh: $name is there"
fi
