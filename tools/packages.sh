# The Debian 12 packages and their installation: sourced by ./dev, and by docker/Dockerfile.

program_packages=( # to build what is installed
    gcc libc6-dev cmake ninja-build pkg-config
    libcap-dev libcurl4-openssl-dev libevent-dev libhiredis-dev libjansson-dev libmnl-dev
    libssl-dev libyaml-dev libzookeeper-st-dev uthash-dev
)
build_packages=("${program_packages[@]}" build-essential libcmocka-dev)
model_packages=(build-essential python3 spin) # of doc/model
run_packages=(redis-server redis-tools python3 curl)
test_packages=(
    clang clang-format clang-tidy cppcheck libclang-rt-14-dev
    fish mandoc spin zsh
    iproute2 libcap2-bin libzookeeper-java nftables openjdk-17-jre-headless python3-kazoo
    python3-hypothesis python3-jsonschema python3-prometheus-client python3-pytest
    python3-pytest-xdist python3-redis python3-yaml
    beanstalkd php-cli php-pda-pheanstalk ruby ruby-beaneater # and its clients
    openssl prometheus systemd # promtool, systemd-analyze
    docker.io docker-compose iptables mmdebstrap slirp4netns # itests/containers
)
ha_packages=(libzookeeper-java openjdk-17-jre-headless # of ./dev ha
    python3-jsonschema python3-redis python3-yaml)
bench_packages=(beanstalkd python3-redis python3-matplotlib) # peers, and pictures
# That come with packages, and the package where it has another name.
services=(redis-server beanstalkd prometheus
    docker.socket:docker.io docker:docker.io containerd:docker.io)

missing_packages() { # PACKAGE...
    local package
    for package; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            echo "$package"
    done
}

as_root() {
    if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# The packages bring services that must not start on their own account: dueq starts a private
# Redis. Debian asks policy-rc.d; the machine's own one is left alone.
apt_install() { # PACKAGE...
    local policy=/usr/sbin/policy-rc.d service
    apt-get update -q
    if [[ ! -e $policy ]]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "$@"
    # Nor with the next start of the machine, when it is we who brought it.
    command -v systemctl >/dev/null || return 0
    for service in "${services[@]}"; do
        [[ " $* " != *" ${service#*:} "* ]] || systemctl disable -q "${service%:*}" || true
    done
}

# Installs what is missing of PACKAGE..., and touches nothing when nothing is.
need_packages() { # PACKAGE...
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    command -v apt-get >/dev/null || {
        say "This script installs Debian 12 packages, and here is no apt-get. Needed are:"
        say "  ${missing[*]}"
        exit 1
    }
    if ((EUID != 0)); then
        command -v sudo >/dev/null || {
            say "Packages are missing and there is no sudo. As root: apt-get install ${missing[*]}"
            exit 1
        }
        sudo -v
    fi
    say "installing ${#missing[@]} packages: ${missing[*]}"
    step "install packages" as_root bash -c "$(declare -f apt_install; declare -p services)
        set -e; apt_install ${missing[*]}"
}
