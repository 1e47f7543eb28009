package v1

// The endpoints of accounting.
var (
	GetRawUsage = Endpoint[None, ResourceAllocationRawResponse]{Method: "GET", Path: "/resources/allocation/raw", Access: ByBoth, Object: KindAllocation, Verb: View, List: true,
		Summary: "List what attempts held within a time",
		Params:  "timestampAfter timestampBefore"}
	GetAggregatedUsage = Endpoint[None, ResourceAllocationAggregatedResponse]{Method: "GET", Path: "/resources/allocation/aggregated", Access: ByBoth, Object: KindAllocation, Verb: View, List: true,
		Summary: "Add up the slot-seconds of days or months",
		Params:  "startDate endDate period"}
	GetRawUsageCSV = Endpoint[None, None]{Method: "GET", Path: "//resources/allocation/raw", Access: ByBoth, Object: KindAllocation, Verb: View, List: true, Stream: true,
		Summary: "List what attempts held within a time, as CSV",
		Params:  "timestampAfter timestampBefore"}
	GetAggregatedUsageCSV = Endpoint[None, None]{Method: "GET", Path: "//resources/allocation/aggregated", Access: ByBoth, Object: KindAllocation, Verb: View, List: true, Stream: true,
		Summary: "Add up the slot-seconds of days or months, as CSV",
		Params:  "startDate endDate period"}
	GetAllocationsCSV = Endpoint[None, None]{Method: "GET", Path: "//resources/allocation/allocations-csv", Access: ByBoth, Object: KindAllocation, Verb: View, List: true, Stream: true,
		Summary: "List the attempts of a time with their slot hours, as CSV",
		Params:  "timestampAfter timestampBefore"}
)
