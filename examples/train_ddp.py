"""A small DistributedDataParallel training that checks its network before it starts.

It learns a function of 16 numbers from data that it makes itself. GPUs are used with NCCL where
there are any, CPUs with Gloo otherwise. One line an epoch comes from rank 0, and at the end every
rank verifies that all ranks hold the same parameters and gradients.

One machine, two processes:

    torchrun --nproc-per-node 2 examples/train_ddp.py --epochs 5

Two machines; run it on both, with R = 0 on nodea and R = 1 on the other:

    ptnet run -- torchrun --nnodes 2 --node-rank R --nproc-per-node 1 \
        --master-addr nodea --master-port 29500 examples/train_ddp.py

Without a launcher, once for each rank:

    RANK=R WORLD_SIZE=2 MASTER_ADDR=nodea MASTER_PORT=29500 python examples/train_ddp.py

With Open MPI:

    mpirun -n 2 -H nodea,nodeb -x MASTER_ADDR=nodea -x MASTER_PORT=29500 \
        python examples/train_ddp.py
"""

from __future__ import annotations

import argparse
import os
import sys

import torch
import torch.distributed as dist

# Optimizers import this module. When that happens after init_process_group, the defaults of its
# functions keep the group and Gloo's threads alive beyond destroy_process_group, and now and then
# such a thread frees a tensor while Python ends: "terminate called without an active exception".
import torch.distributed.nn
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

import ptnet

INPUTS = 16
SAMPLES = 4096
BATCH = 64


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small model on all ranks.")
    parser.add_argument("--epochs", type=int, default=5)
    epochs = parser.parse_args().epochs

    name_ranks_of_open_mpi()
    torch.set_num_threads(1)
    use_gpu = torch.cuda.is_available()
    device = torch.device("cpu")
    if use_gpu:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)

    ptnet.init_process_group("nccl" if use_gpu else "gloo")
    try:
        train(epochs, device)
    finally:
        dist.destroy_process_group()


def name_ranks_of_open_mpi() -> None:
    """torch reads RANK and its like; mpirun sets OMPI_COMM_WORLD_RANK and its like."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        value = os.environ.get(f"OMPI_COMM_WORLD_{name.removeprefix('WORLD_')}")
        if value is not None:
            os.environ.setdefault(name, value)


def train(epochs: int, device: torch.device) -> None:
    data = make_data()
    sampler: DistributedSampler[tuple[Tensor, ...]] = DistributedSampler(data, seed=1)
    loader = DataLoader(data, batch_size=BATCH, sampler=sampler)

    torch.manual_seed(2)
    layers = nn.Sequential(nn.Linear(INPUTS, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(2, device=device)
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0], device=device)
        dist.all_reduce(total)
        losses.append((total[0] / total[1]).item())
        say(f"epoch {epoch + 1}/{epochs} loss {losses[-1]:.4f}")

    if epochs > 1 and not losses[-1] < losses[0]:
        sys.exit(f"the loss did not fall: {losses[0]:.4f} -> {losses[-1]:.4f}")
    verify_equal("parameters", [p.detach() for p in model.parameters()])
    verify_equal("gradients", [p.grad for p in model.parameters() if p.grad is not None])
    say(f"parameters equal on all {dist.get_world_size()} ranks")


def make_data() -> TensorDataset:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(SAMPLES, INPUTS, generator=generator)
    weights = torch.randn(INPUTS, 1, generator=generator)
    return TensorDataset(inputs, torch.sin(inputs @ weights / 4))


def verify_equal(what: str, tensors: list[Tensor]) -> None:
    """Every rank ends with an error that names the ranks that differ from rank 0."""
    mine = torch.cat([tensor.flatten() for tensor in tensors])
    everyones = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyones, mine)
    different = [
        f"rank {rank} by up to {(theirs - everyones[0]).abs().max().item():.3g}"
        for rank, theirs in enumerate(everyones)
        if not torch.equal(theirs, everyones[0])
    ]
    if different:
        sys.exit(f"{what} differ from those of rank 0: {', '.join(different)}")


def say(line: str) -> None:
    if dist.get_rank() == 0:
        print(line, flush=True)


if __name__ == "__main__":
    main()
