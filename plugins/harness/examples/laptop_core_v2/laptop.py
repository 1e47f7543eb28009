"""One run from a laptop: ``python3 laptop.py NAME``. Interrupt it, start it again: it continues."""

import argparse

import line

from determined.experimental import core_v2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the experiment's name of your own")
    parser.add_argument("--fail-at", type=int, help="end with an error at this step")
    arguments = parser.parse_args()
    core_v2.init(config=line.config(arguments.name, "trial-1", learning_rate=0.2))
    print("see", core_v2.url_reverse_webui_exp_view())
    if arguments.fail_at is not None:
        line.train(core_v2, stop_at=arguments.fail_at)
        raise RuntimeError("the lid was closed")
    line.train(core_v2)
    # Without this call, the end of the program does the same.
    core_v2.close()


if __name__ == "__main__":
    main()
