"""Whether everything that must hold does hold, seen by somebody who shares no rule with the product."""
