"""Tables of cases, each named as a claim, one folder per room."""
