"""Run the command line by `python -m cmlib`: arguments and exit codes are those of `cmlib`."""

from cmlib.cli import main

if __name__ == "__main__":
    main(prog_name="cmlib")
