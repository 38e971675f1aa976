# Prints what it is given.
printf 'Dear customer: '
cat
