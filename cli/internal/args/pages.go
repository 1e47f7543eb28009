package args

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/detent-ml/detent/master/client"
)

// Pages is the flags of a list in pages.
type Pages struct {
	limit, offset int
	pages         OneOf
	flags         *pflag.FlagSet
}

// Flags adds --limit, --offset and --pages. A limit without --pages is the limit of what is printed.
func (p *Pages) Flags(cmd *cobra.Command, limit int) {
	p.pages = OneOf{Value: "all", Allowed: []string{"1", "all"}}
	p.flags = cmd.Flags()
	cmd.Flags().IntVar(&p.limit, "limit", limit, "print at most this many records; with --pages, the records per page")
	cmd.Flags().IntVar(&p.offset, "offset", 0, "number of records to skip")
	cmd.Flags().Var(&p.pages, "pages", "print one page, or all")
}

// Page is the page that the flags select.
func (p *Pages) Page() client.Page {
	single := p.pages.Value == "1" || p.flags != nil && p.flags.Changed("limit") && !p.flags.Changed("pages")
	return client.Page{Limit: p.limit, Offset: p.offset, Single: single}
}
