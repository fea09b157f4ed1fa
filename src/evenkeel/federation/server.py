"""The Flower ServerApp: what `serving` does, over Flower's grid."""

from collections.abc import Mapping
from typing import Any

import torch
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from evenkeel.federation.serving import MakeTask, serve
from evenkeel.federation.wire import GridPost


def server_app(task: MakeTask | None = None, settings: Mapping[str, Any] | None = None) -> ServerApp:
    """A ServerApp; `task` builds a model of one's own, `settings` stand in where there is no run config."""
    app = ServerApp()

    @app.main()  # type: ignore[untyped-decorator]  # flwr is not in the main environment
    def main(grid: Grid, context: Context) -> None:
        torch.set_num_threads(1)  # the server adds vectors one after the other; threads would only spin
        serve(GridPost(grid), {**(settings or {}), **context.run_config}, task)

    return app


app = server_app()
