"""`python -m cmlib` is `cmlib`."""

from cmlib.cli import main

if __name__ == "__main__":
    main(prog_name="cmlib")
