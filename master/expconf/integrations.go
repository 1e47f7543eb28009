package expconf

import (
	"fmt"

	"github.com/detent-ml/detent/master/expconf/wandb"
)

// Integrations connects an experiment to other systems.
type Integrations struct {
	Pachyderm *Pachyderm     `json:"pachyderm"`
	WandB     *wandb.Section `json:"wandb,omitempty"`
	Webhooks  *Webhooks      `json:"webhooks"`
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

// Pachyderm describes the source of the data of an experiment.
type Pachyderm struct {
	Branch         *string         `json:"branch,omitempty"`
	Pachd          *PachydermPachd `json:"pachd,omitempty"`
	PreviousCommit *string         `json:"previous_commit,omitempty"`
	Project        *string         `json:"project,omitempty"`
	Proxy          *PachydermProxy `json:"proxy,omitempty"`
	Repo           *string         `json:"repo,omitempty"`

	// Fields of an old form of the section, without subsections.
	Dataset *PachydermDataset `json:"dataset,omitempty"`
}

// PachydermPachd is the address of the data service.
type PachydermPachd struct {
	Host  *string `json:"host,omitempty"`
	Port  any     `json:"port,omitempty"` // written as a number and as a string
	Token *string `json:"token,omitempty" secret:"true"`
}

// PachydermProxy is the address of its web interface.
type PachydermProxy struct {
	Scheme *string `json:"scheme,omitempty"`
	Host   *string `json:"host,omitempty"`
	Port   any     `json:"port,omitempty"`
}

// PachydermDataset names a commit of a repository.
type PachydermDataset struct {
	Project *string `json:"project,omitempty"`
	Repo    *string `json:"repo,omitempty"`
	Commit  *string `json:"commit,omitempty"`
	Branch  *string `json:"branch,omitempty"`
	Token   *string `json:"token,omitempty" secret:"true"`
}
