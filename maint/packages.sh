# shellcheck shell=bash
# The Debian packages that each step needs, and their installation.  Sourced by run.  The parts of the build stand in
# maint/dependencies.

packages_for() {
    case $1 in
        build)
            maint/check-dependencies --packages Debian build fortran elasticd
            echo ccache
            # libfabric's own needs at link time; these exist for x86 only.
            [ "$(dpkg --print-architecture)" != amd64 ] || echo libpsm2-dev libpsm-infinipath1-dev
            ;;
        # libslurm38: for Debian's mpiexec; python3-numpy: for elastic_mpi; clang: unit tests under sanitizers, fuzzers;
        # systemd: elasticd's units
        test)
            maint/check-dependencies --packages Debian check
            echo clang libclang-rt-dev llvm libpng-dev procps shellcheck mypy systemd man-db valgrind
            echo libslurm38 python3-numpy
            ;;
        web) echo chromium chromium-driver ;;
        full) echo clang-format ;;
        cluster) echo iproute2 util-linux openssh-client openssh-server procps ;;
        slurm) echo slurmctld slurmd slurm-client munge ;;
        accounting) echo slurmdbd mariadb-server ;;
        demo) echo procps libpng-dev zlib1g-dev ;;
        bench) echo iproute2 util-linux openssh-client openssh-server ;;
    esac
}

# Names of packages that are not installed.
packages_missing() {
    local installed
    # Of several architectures of a package one is enough: the native one is what apt-get gives.
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p')
    printf '%s\n' "$@" | grep -v -x -F -f <(printf '%s\n' "$installed" | grep .)
}

# Services that these packages may bring.  Tests and demonstrations start their own, on hosts of their own.
packages_services=(ssh munge slurmctld slurmd slurmdbd mariadb)

# Packages that this machine does not have, so that it must not get them by our installation.
packages_services_off() {
    local service
    for service in "${packages_services[@]}"; do
        [ -e "/lib/systemd/system/$service.service" ] || [ -e "/etc/init.d/$service" ] || printf '%s ' "$service"
    done
}

# apt's PATH is that of the packages' scripts: services-off stands in front of the commands that start services.
packages_apt() {
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive ELASTIC_SERVICES_OFF="$(packages_services_off)" \
        apt-get -q -o DPkg::Lock::Timeout=300 -o DPkg::Path="$PWD/maint/services-off:/usr/sbin:/usr/bin:/sbin:/bin" "$@"
}

# Install what the steps named in $1 (separated by spaces) need; does nothing if all is there.
install_packages() {
    local step wanted=() missing
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        return 0 # another system: configure reports what is missing
    fi
    for step in $1; do
        mapfile -t missing < <(packages_for "$step" | tr ' ' '\n')
        wanted+=("${missing[@]}")
    done
    mapfile -t missing < <(packages_missing "${wanted[@]}")
    [ ${#missing[@]} -gt 0 ] || return 0
    local advice="Install these yourself and repeat: apt-get install ${missing[*]}"
    if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
        echo "run: packages are missing, and this user may not install them.  $advice" >&2
        return 1
    fi
    # A fresh machine has no package lists, an old one has stale lists: in both cases refresh them and try again.
    ADVICE='' packages_try "${missing[@]}" || {
        ADVICE="Is the network there?  $advice" phase "refreshing the package lists" packages_apt update &&
            ADVICE=$advice packages_try "${missing[@]}"
    }
}

# The first try is allowed to fail: all versions must be known before anything is downloaded.
packages_try() {
    local uris megabytes
    uris=$(packages_apt install -y --no-install-recommends --print-uris "$@" 2>&1) || {
        [ -z "$ADVICE" ] || printf '%s\n' "$uris" "$ADVICE" >&2
        return 1
    }
    megabytes=$(awk '/^\047/ { bytes += $3 } END { print int((bytes + 999999) / 1000000) }' <<<"$uris")
    phase "installing $# Debian packages and what they need ($megabytes MB to download)" \
        packages_apt install -y --no-install-recommends "$@"
}
