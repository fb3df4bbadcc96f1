"""The smallest job: start, meet the other ranks, one all-reduce. `--bare`: without ptnet."""

import sys

import torch
import torch.distributed as dist

print("script started", flush=True)
torch.set_num_threads(1)
if "--bare" in sys.argv:
    dist.init_process_group("gloo")
else:
    import ptnet

    ptnet.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
if total.item() != dist.get_world_size():
    sys.exit(f"all_reduce gave {total.item()} on {dist.get_world_size()} ranks")
dist.destroy_process_group()
print("trained ok", flush=True)
