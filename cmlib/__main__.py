"""Run the command line by `python -m cmlib`."""

from cmlib.cli import main

if __name__ == "__main__":
    main(prog_name="cmlib")
