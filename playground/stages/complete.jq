# When the last app is over.
@seconds

([.spec.containers[] | seconds(null)]) as $seconds
| if any($seconds[]; . == null) then "8760h"
  else ([.status.containerStatuses[].state.running.startedAt | values | fromdate] | max)
    + ($seconds | max) | todate end
