"""`python -m weightlift` is the program `weightlift`."""

from weightlift.cli import main

if __name__ == "__main__":
    main()
