"""Filter while thousands of pods and nodes change, beside filter while none do."""
