"""`python -m evenkeel` is the same as `evenkeel`."""

from evenkeel.cli import main

if __name__ == "__main__":
    main()
