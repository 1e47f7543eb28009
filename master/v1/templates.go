package v1

// Template is a configuration that others are laid over. Source is ours, not
// Determined's: the same as YAML, as it was written.
type Template struct {
	Config      Struct  `json:"config"`
	Name        string  `json:"name"`
	WorkspaceID int     `json:"workspaceId"`
	Source      *string `json:"source,omitempty"`
}

// GetTemplatesResponse is a message of the wire.
type GetTemplatesResponse struct {
	Pagination Pagination `json:"pagination"`
	Templates  []Template `json:"templates"`
}

// TemplateResponse is the answer of all that is about one template.
type TemplateResponse struct {
	Template Template `json:"template"`
}

// PatchTemplateNameRequest is a message of the wire.
type PatchTemplateNameRequest struct {
	NewName string `json:"newName"`
	OldName string `json:"oldName"`
}
