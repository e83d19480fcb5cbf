# Sourced by scripts that test in a browser: `chromium_path` prints the path of Chromium, after it has installed Debian's
# package where there is none and it is possible; it fails otherwise. TIDELOG_CHROMIUM names another browser of that family.
source scripts/apt.sh

find_chromium() {
    local name
    for name in ${TIDELOG_CHROMIUM:-chromium chromium-browser google-chrome-stable google-chrome}; do
        command -v "$name" && return
    done
    return 1
}

chromium_path() {
    find_chromium || { apt_install chromium >&2 && find_chromium; }
}
