# Sourced by the other scripts: `apt_install PACKAGE` installs a Debian package when this is possible without asking
# anybody anything, and fails otherwise.

apt_install() {
    local as_root=()
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null || return 1
        as_root=(sudo -n)
    fi
    echo "setup: installing the Debian package $1" >&2
    if [ -z "${apt_updated:-}" ]; then
        "${as_root[@]}" apt-get update -qq </dev/null >&2 || true
        apt_updated=1
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$1" </dev/null >&2
}
