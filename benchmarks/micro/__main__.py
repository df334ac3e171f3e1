"""Run this part by itself."""

from benchmarks.alone import run_alone

if __name__ == "__main__":
    run_alone("micro")
