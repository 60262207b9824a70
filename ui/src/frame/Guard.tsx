import { Component, type ReactNode } from "react";
import { Button } from "@/parts/Button";
import { Failure } from "@/parts/States";

/** A page that breaks says so in its own place, and the rest stays usable. */
export class Guard extends Component<{ children: ReactNode }, { error: unknown }> {
  state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  render() {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="page">
        <Failure error={this.state.error} title="This page broke" />
        <div className="row">
          <Button icon="retry" onClick={() => window.location.reload()}>
            Load it again
          </Button>
        </div>
      </div>
    );
  }
}
