"""What tests of Spark share."""

import os
import sys

import pytest


@pytest.fixture(scope="module")
def started():
    """Starts a session at a master, with settings beside those that all have; it ends with the module."""
    from pyspark.sql import SparkSession

    sessions = []

    def start(master, **settings):
        # The Python that has slowside, not the first that is found.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(master).appName("slowside")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            **settings,
        }.items():
            builder = builder.config(name, value)
        sessions.append(builder.getOrCreate())
        return sessions[-1]

    yield start
    for session in sessions:
        session.stop()
