// A pile of boxes falls for two seconds.
#include <cstdio>
#include "box2d/box2d.h"

int main() {
    b2World world(b2Vec2(0.0f, -10.0f));
    b2BodyDef ground;
    b2PolygonShape shape;
    shape.SetAsBox(50.0f, 1.0f);
    world.CreateBody(&ground)->CreateFixture(&shape, 0.0f);
    b2Body* last = nullptr;
    for (int row = 0; row < 8; row++) {
        for (int i = 0; i < 8 - row; i++) {
            b2BodyDef def;
            def.type = b2_dynamicBody;
            def.position.Set(i * 1.1f + row * 0.55f, 2.0f + row * 1.2f);
            shape.SetAsBox(0.5f, 0.5f);
            last = world.CreateBody(&def);
            last->CreateFixture(&shape, 1.0f);
        }
    }
    for (int step = 0; step < 120; step++) world.Step(1.0f / 60.0f, 8, 3);
    std::printf("%.6f %.6f %d\n", last->GetPosition().x, last->GetPosition().y, world.GetContactCount());
}
