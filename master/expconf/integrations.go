package expconf

import (
	"fmt"

	"github.com/detent-ml/detent/master/expconf/pachyderm"
	"github.com/detent-ml/detent/master/expconf/wandb"
)

// Integrations connects an experiment to other systems.
type Integrations struct {
	Pachyderm *pachyderm.Section `json:"pachyderm"`
	WandB     *wandb.Section     `json:"wandb,omitempty"`
	Webhooks  *Webhooks          `json:"webhooks"`
}

func (i Integrations) check(k *checker, at string) {
	problem := i.WandB.Problem()
	k.when(problem != "", at+".wandb.base_url", problem, "")
}

// Webhooks selects the webhooks of the workspace that fire for the experiment.
type Webhooks struct {
	written
	Exclude     bool     `json:"exclude"` // no webhook fires
	WebhookID   []int    `json:"webhook_id" default:"[]" check:"at most maxHooks webhooks; each at least 1"`
	WebhookName []string `json:"webhook_name" default:"[]" check:"at most maxHooks webhooks; each required; each line maxHookName"`
}

func (w Webhooks) check(k *checker, at string) {
	k.when(w.Exclude && len(w.WebhookID)+len(w.WebhookName) > 0, at+".exclude", "cannot be combined with webhook_id or webhook_name", "keep one")
	size := 0
	for _, name := range w.WebhookName {
		size += len(name)
	}
	k.when(size > maxHookNames, at+".webhook_name", fmt.Sprintf("has names of %d bytes together; at most %d are allowed", size, maxHookNames), "give the ids of the webhooks in webhook_id")
}
