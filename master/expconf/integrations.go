package expconf

// RawIntegrations is integrations as written.
type RawIntegrations struct {
	Pachyderm *Pachyderm   `json:"pachyderm"`
	Webhooks  *RawWebhooks `json:"webhooks"`
}

// RawWebhooks is integrations.webhooks as written.
type RawWebhooks struct {
	Exclude     *bool    `json:"exclude"`
	WebhookID   []int    `json:"webhook_id"`
	WebhookName []string `json:"webhook_name"`
}

// Integrations connects an experiment to other systems.
type Integrations struct {
	Pachyderm *Pachyderm `json:"pachyderm"`
	Webhooks  *Webhooks  `json:"webhooks"`
}

// Webhooks says which webhooks of the workspace fire for the experiment.
type Webhooks struct {
	Exclude     bool     `json:"exclude"` // fire none at all
	WebhookID   []int    `json:"webhook_id"`
	WebhookName []string `json:"webhook_name"`
}

// Pachyderm tells where the data of an experiment came from.
type Pachyderm struct {
	Branch         *string         `json:"branch,omitempty"`
	Pachd          *PachydermPachd `json:"pachd,omitempty"`
	PreviousCommit *string         `json:"previous_commit,omitempty"`
	Project        *string         `json:"project,omitempty"`
	Proxy          *PachydermProxy `json:"proxy,omitempty"`
	Repo           *string         `json:"repo,omitempty"`

	// The shape of the section before it had parts.
	Dataset *PachydermDataset `json:"dataset,omitempty"`
}

// PachydermPachd is the address of the data service.
type PachydermPachd struct {
	Host  *string `json:"host,omitempty"`
	Port  any     `json:"port,omitempty"` // written as a number and as a string
	Token *string `json:"token,omitempty"`
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
	Token   *string `json:"token,omitempty"`
}

func (i *RawIntegrations) complete() *Integrations {
	if i == nil {
		return nil
	}
	out := &Integrations{Pachyderm: i.Pachyderm}
	if w := i.Webhooks; w != nil {
		out.Webhooks = &Webhooks{Exclude: first(false, w.Exclude),
			WebhookID: filled(w.WebhookID), WebhookName: filled(w.WebhookName)}
	}
	return out
}

func (i *Integrations) check(k *checker) {
	if i == nil || i.Webhooks == nil {
		return
	}
	const at = "integrations.webhooks"
	k.atMost(at+".webhook_id", len(i.Webhooks.WebhookID), maxNames, "webhooks")
	k.atMost(at+".webhook_name", len(i.Webhooks.WebhookName), maxNames, "webhooks")
	for n, id := range i.Webhooks.WebhookID {
		k.atLeast(index(at+".webhook_id", n), id, 1)
	}
	for n, name := range i.Webhooks.WebhookName {
		k.required(index(at+".webhook_name", n), name, "")
	}
	if i.Webhooks.Exclude && len(i.Webhooks.WebhookID)+len(i.Webhooks.WebhookName) > 0 {
		k.fail(at+".exclude", "cannot be combined with webhook_id or webhook_name", "keep one")
	}
}
