"""A training loop of Accelerate, whose tracker for MLflow creates an experiment and a run by name. Nothing here is about a cluster."""

import torch
from accelerate import Accelerator

accelerator = Accelerator(log_with="mlflow", cpu=True)
accelerator.init_trackers("by accelerate", config={"lr": 0.1, "width": 4})
torch.manual_seed(1)
model = torch.nn.Linear(4, 1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 4), torch.zeros(64, 1)), 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, data = accelerator.prepare(model, optimizer, data)
step = 0
for _ in range(3):
    for x, y in data:
        loss = ((model(x) - y) ** 2).mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        accelerator.log({"train_loss": loss.item()}, step=step)
    accelerator.log({"error": loss.item()}, step=step)
accelerator.end_training()
