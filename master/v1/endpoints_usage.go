package v1

// The endpoints of accounting.
var (
	GetRawUsage = Endpoint[GetUsageRequest, ResourceAllocationRawResponse]{Method: "GET", Path: "/resources/allocation/raw", Access: ByBoth, Object: KindAllocation, Verb: View, List: true,
		Summary: "List what attempts held within a time"}
	GetAggregatedUsage = Endpoint[GetAggregatedUsageRequest, ResourceAllocationAggregatedResponse]{Method: "GET", Path: "/resources/allocation/aggregated", Access: ByBoth, Object: KindAllocation, Verb: View, List: true,
		Summary: "Add up the slot-seconds of days or months"}
	GetRawUsageCSV = Endpoint[GetUsageRequest, None]{Method: "GET", Path: "//resources/allocation/raw", Access: ByBoth, Object: KindAllocation, Verb: View, List: true, Stream: true,
		Summary: "List what attempts held within a time, as CSV"}
	GetAggregatedUsageCSV = Endpoint[GetAggregatedUsageRequest, None]{Method: "GET", Path: "//resources/allocation/aggregated", Access: ByBoth, Object: KindAllocation, Verb: View, List: true, Stream: true,
		Summary: "Add up the slot-seconds of days or months, as CSV"}
	GetAllocationsCSV = Endpoint[GetUsageRequest, None]{Method: "GET", Path: "//resources/allocation/allocations-csv", Access: ByBoth, Object: KindAllocation, Verb: View, List: true, Stream: true,
		Summary: "List the attempts in a period with their slot hours, as CSV"}
	ListDiskUse = Endpoint[GetListRequest, GetDiskUseResponse]{Method: "GET", Path: "/detent/disk-use", Access: ByUsers, Object: KindWorkspace, Verb: View, List: true,
		Summary: "List how much disk the workspaces that you may view use"}
)
