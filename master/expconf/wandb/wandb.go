// Package wandb is the section integrations.wandb of a configuration: the trials of an experiment log to W&B too, each as one run there, also
// after restarts. It is pure. Nothing here talks to W&B: W&B's client reads the variables.
package wandb

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/optional"
)

// Section is the section. The key of W&B is none of its fields: it is a secret, which environment.secrets mounts as WANDB_API_KEY.
type Section struct {
	Entity  *string `json:"entity,omitempty" check:"line 128"`
	Project *string `json:"project,omitempty" check:"line 128"`
	Group   *string `json:"group,omitempty" check:"line 128"`    // by default experiment-<id>
	BaseURL *string `json:"base_url,omitempty" check:"line 512"` // of a server of one's own; by default https://wandb.ai
}

// Problem says what is wrong with the section's address; "" if nothing is. The pages link to it.
func (s *Section) Problem() string {
	address := ""
	if s != nil {
		address = optional.Value(s.BaseURL)
	}
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Sprintf("expected an address such as https://wandb.example.com, found %q", address)
	}
	return ""
}

// Variables are what W&B's client reads in a trial. A restarted trial continues its run: the id of the run is the id of the trial's task.
func (s *Section) Variables(experiment, trial int, task string) map[string]string {
	v := map[string]string{
		"WANDB_RUN_GROUP": fmt.Sprintf("experiment-%d", experiment),
		"WANDB_NAME":      fmt.Sprintf("trial-%d", trial),
		"WANDB_RUN_ID":    task,
		"WANDB_RESUME":    "allow",
	}
	for name, is := range map[string]*string{"WANDB_ENTITY": s.Entity, "WANDB_PROJECT": s.Project, "WANDB_RUN_GROUP": s.Group, "WANDB_BASE_URL": s.BaseURL} {
		if text := strings.TrimSuffix(optional.Value(is), "/"); text != "" {
			v[name] = text
		}
	}
	return v
}
