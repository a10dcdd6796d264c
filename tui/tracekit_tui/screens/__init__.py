"""The screens: each shows what the controller answers, and holds no SQL and no store call."""
