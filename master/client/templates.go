package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/detent-ml/detent/master/v1"
)

func templatePath(name string) string { return "/templates/" + url.PathEscape(name) }

// Templates lists them.
func (c *Client) Templates(ctx context.Context, page Page) iter.Seq2[v1.Template, error] {
	return pages(ctx, page, func(ctx context.Context, p Page) ([]v1.Template, v1.Pagination, error) {
		q := url.Values{"sortBy": {"SORT_BY_NAME"}}
		p.set(q)
		var out v1.GetTemplatesResponse
		err := c.get(ctx, "/templates", q, &out)
		return out.Templates, out.Pagination, err
	})
}

// Template reads one.
func (c *Client) Template(ctx context.Context, name string) (*v1.Template, error) {
	var out v1.TemplateResponse
	return &out.Template, c.get(ctx, templatePath(name), nil, &out)
}

// CreateTemplate makes one that is not there yet.
func (c *Client) CreateTemplate(ctx context.Context, t v1.Template) (*v1.Template, error) {
	var out v1.TemplateResponse
	return &out.Template, c.post(ctx, templatePath(t.Name), t, &out)
}

// SetTemplate makes one, or gives it another configuration.
func (c *Client) SetTemplate(ctx context.Context, t v1.Template) (*v1.Template, error) {
	var out v1.TemplateResponse
	return &out.Template, c.do(ctx, call{method: http.MethodPut, path: templatePath(t.Name), in: t, repeat: safely}, &out)
}

// RenameTemplate gives one another name.
func (c *Client) RenameTemplate(ctx context.Context, name, other string) error {
	return c.patch(ctx, "/template/rename", v1.PatchTemplateNameRequest{OldName: name, NewName: other}, nil)
}

// DeleteTemplate removes one.
func (c *Client) DeleteTemplate(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: templatePath(name)}, nil)
}
