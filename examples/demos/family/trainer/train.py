"""Trains on batches that a forked process loads."""

import multiprocessing
import time

losses: list[float] = []
step = 0


def load(queue):
    batch = 0
    while True:
        queue.put(batch)
        batch += 1


def main():
    global step
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue(4)
    fork.Process(target=load, args=(queue,), daemon=True).start()
    while True:
        losses.append(1 / (1 + queue.get()))
        step += 1
        time.sleep(0.2)


if __name__ == "__main__":
    main()
