package args

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/master/client"
)

// Pages is the flags of a list in pages.
type Pages struct {
	limit, offset int
	pages         OneOf
}

// Flags adds --limit, --offset and --pages.
func (p *Pages) Flags(cmd *cobra.Command, limit int) {
	p.pages = OneOf{Value: "all", Allowed: []string{"1", "all"}}
	cmd.Flags().IntVar(&p.limit, "limit", limit, "records per page")
	cmd.Flags().IntVar(&p.offset, "offset", 0, "number of records to skip")
	cmd.Flags().Var(&p.pages, "pages", "print one page, or all")
}

// Page is the page that the flags select.
func (p *Pages) Page() client.Page {
	return client.Page{Limit: p.limit, Offset: p.offset, Single: p.pages.Value == "1"}
}
