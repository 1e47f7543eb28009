package v1

// Template is a configuration that is merged under those of experiments and tasks. Source,
// which Determined does not have, is the configuration as YAML, as the user wrote it.
type Template struct {
	Config      Struct  `json:"config"`
	Name        string  `json:"name"`
	WorkspaceID int     `json:"workspaceId"`
	Source      *string `json:"source,omitempty"`
}

type GetTemplatesResponse struct {
	Pagination Pagination `json:"pagination"`
	Templates  []Template `json:"templates"`
}

// Records returns the records of the page.
func (r GetTemplatesResponse) Records() ([]Template, Pagination) { return r.Templates, r.Pagination }

// TemplateResponse is the response of all requests for one template.
type TemplateResponse struct {
	Template Template `json:"template"`
}

type PatchTemplateNameRequest struct {
	NewName string `json:"newName"`
	OldName string `json:"oldName"`
}
