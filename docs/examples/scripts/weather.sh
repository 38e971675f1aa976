# Fails twice, then answers.
count=$(cat weather.count 2>/dev/null || echo 0)
echo $((count + 1)) > weather.count
[ "$count" -ge 2 ] || { echo "the station is busy" >&2; exit 1; }
rm weather.count
echo "rain in $1"
