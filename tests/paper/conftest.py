"""Property tests here have no deadline: a busy machine must not decide a test."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
