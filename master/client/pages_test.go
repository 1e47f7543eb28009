package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// TestPagesThatAreTooLarge: records are long, so that the master can send only a few of them at once.
func TestPagesThatAreTooLarge(t *testing.T) {
	for _, c := range []struct {
		page   client.Page
		most   int   // records that fit into an answer
		limits []int // with which the client asks
		code   fault.Code
	}{
		{client.Page{Limit: 500}, 1000, []int{500}, 0},
		{client.Page{Limit: 500}, 125, []int{500, 125}, 0},
		{client.Page{Limit: 500}, 5, []int{500, 125, 31, 7, 1}, 0},
		{client.Page{}, 50, []int{0, 100, 25}, 0},
		{client.Page{Limit: -1}, 100, []int{-1, 100}, 0},
		{client.Page{Limit: 3}, 0, []int{3, 1}, fault.TooLarge},
		{client.Page{Limit: 500, Single: true}, 5, []int{500}, fault.TooLarge},
	} {
		t.Run(fmt.Sprintf("%+v of %d", c.page, c.most), func(t *testing.T) {
			const total = 130
			var limits []int
			cl := serve(t, client.Options{Patience: -1}, func(w http.ResponseWriter, r *http.Request) {
				limit, _ := strconv.Atoi(r.FormValue("limit"))
				offset, _ := strconv.Atoi(r.FormValue("offset"))
				if !slices.Contains(limits, limit) {
					limits = append(limits, limit)
				}
				end := min(total, offset+limit)
				if limit <= 0 {
					end = total
				}
				if end-offset > c.most {
					w.WriteHeader(http.StatusRequestEntityTooLarge)
					fmt.Fprint(w, `{"error":{"error":"the answer is too large"}}`)
					return
				}
				var list []v1.WorkloadContainer
				for i := offset; i < end; i++ {
					list = append(list, v1.WorkloadContainer{Validation: &v1.MetricsWorkload{TotalBatches: i}})
				}
				_ = json.NewEncoder(w).Encode(v1.GetTrialWorkloadsResponse{Workloads: list, Pagination: v1.Pagination{EndIndex: end, Total: total}})
			})
			got, err := client.List(t.Context(), cl, v1.ListTrialWorkloads, c.page, nil, 1)
			if fault.CodeOf(err) != c.code && (err != nil || c.code != 0) {
				t.Fatalf("%v", err)
			}
			if !slices.Equal(limits, c.limits) {
				t.Errorf("asked with the limits %v, want %v", limits, c.limits)
			}
			for i, w := range got {
				if w.Validation.TotalBatches != i {
					t.Fatalf("record %d is %+v", i, w.Validation)
				}
			}
			if err == nil && len(got) != total {
				t.Errorf("%d records", len(got))
			}
		})
	}
}
