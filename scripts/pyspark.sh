# For scripts that run .venv with another PySpark than its own. `pyspark_at CACHE VERSION` prints the folder of one, which
# goes before everything else in PYTHONPATH; it fetches it from PyPI if it is not in the folder CACHE.
pyspark_at() {
    local folder="$1/pyspark-$2"
    if [ ! -d "$folder" ]; then
        rm -rf "$folder.new"
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
            --target "$folder.new" "pyspark==$2" || return 1
        mv "$folder.new" "$folder"
    fi
    echo "$folder"
}
