#!/usr/bin/env bash
# Makes the secrets that the profile "team" of docker-compose.yml needs, each once: what is there stays.
# usage: deploy/secrets.sh [DIR]     (default: deploy/secrets)
set -euo pipefail

folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
chmod 700 "$folder" # on this machine nobody else reads them; the users in the containers have to
for name in database_password storage_secret; do
  [ -e "$folder/$name" ] && continue
  head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$folder/$name"
  chmod 644 "$folder/$name"
  echo "made $folder/$name"
done
