// Package pachyderm is the section integrations.pachyderm of a configuration, as Determined has it. It is only stored and shown.
package pachyderm

// Section describes the source of the data of an experiment.
type Section struct {
	Branch         *string `json:"branch,omitempty"`
	Pachd          *Pachd  `json:"pachd,omitempty"`
	PreviousCommit *string `json:"previous_commit,omitempty"`
	Project        *string `json:"project,omitempty"`
	Proxy          *Proxy  `json:"proxy,omitempty"`
	Repo           *string `json:"repo,omitempty"`

	// Fields of an old form of the section, without subsections.
	Dataset *Dataset `json:"dataset,omitempty"`
}

// Pachd is the address of the data service.
type Pachd struct {
	Host  *string `json:"host,omitempty"`
	Port  any     `json:"port,omitempty"` // written as a number and as a string
	Token *string `json:"token,omitempty" secret:"true"`
}

// Proxy is the address of its web interface.
type Proxy struct {
	Scheme *string `json:"scheme,omitempty"`
	Host   *string `json:"host,omitempty"`
	Port   any     `json:"port,omitempty"`
}

// Dataset names a commit of a repository.
type Dataset struct {
	Project *string `json:"project,omitempty"`
	Repo    *string `json:"repo,omitempty"`
	Commit  *string `json:"commit,omitempty"`
	Branch  *string `json:"branch,omitempty"`
	Token   *string `json:"token,omitempty" secret:"true"`
}
