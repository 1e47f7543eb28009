package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Templates lists templates.
func (c *Client) Templates(ctx context.Context, page Page) iter.Seq2[v1.Template, error] {
	request := v1.GetTemplatesRequest{Order: v1.Order{SortBy: "SORT_BY_NAME"}}
	return list(ctx, c, v1.ListTemplates, page, &request, func(r *v1.GetTemplatesResponse) ([]v1.Template, v1.Pagination) { return r.Templates, r.Pagination })
}

// Template returns one template.
func (c *Client) Template(ctx context.Context, name string) (*v1.Template, error) {
	out, err := get(ctx, c, v1.GetTemplate, nil, name)
	return &out.Template, err
}

// CreateTemplate creates a template that does not exist.
func (c *Client) CreateTemplate(ctx context.Context, t v1.Template) (*v1.Template, error) {
	out, err := post(ctx, c, v1.CreateTemplate, t, t.Name)
	if err != nil {
		return nil, err
	}
	return &out.Template, nil
}

// SetTemplate creates a template, or replaces its configuration.
func (c *Client) SetTemplate(ctx context.Context, t v1.Template) (*v1.Template, error) {
	out, err := post(ctx, c, v1.PutTemplate, t, t.Name)
	if err != nil {
		return nil, err
	}
	return &out.Template, nil
}

// RenameTemplate renames a template.
func (c *Client) RenameTemplate(ctx context.Context, name, other string) error {
	_, err := post(ctx, c, v1.RenameTemplate, v1.PatchTemplateNameRequest{OldName: name, NewName: other})
	return err
}

// DeleteTemplate deletes a template.
func (c *Client) DeleteTemplate(ctx context.Context, name string) error {
	return act(ctx, c, v1.DeleteTemplate, name)
}
