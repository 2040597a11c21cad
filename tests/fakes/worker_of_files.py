"""The workers' app on a broker that is neither Redis nor a server: a folder that holds the messages."""

import os

from querymill_workers import app as workers_app

FOLDER = os.environ["QUEUE_FOLDER"]
OPTIONS = {"data_folder_in": FOLDER, "data_folder_out": FOLDER, "control_folder": FOLDER, "polling_interval": 0.05}

app = workers_app.app
app.conf.broker_transport_options = OPTIONS
