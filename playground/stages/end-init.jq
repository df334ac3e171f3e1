# When the init that runs now is over; one that does not sleep takes 5 s.
@seconds

.spec.initContainers as $inits | .status.initContainerStatuses as $shown
| [range($inits | length)
   | select($inits[.].restartPolicy != "Always" and $shown[.].state.running != null)][0] as $now
| ($inits[$now] | seconds(5)) as $seconds
| if $seconds == null then "8760h"
  else ($shown[$now].state.running.startedAt | fromdate) + $seconds | todate end
